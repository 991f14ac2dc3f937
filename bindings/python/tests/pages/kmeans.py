# SPDX-License-Identifier: MIT
"""k-means with the usual tricks of broadcasting, and a silhouette."""
import numpy as np

t = np.arange(300)
centres = np.array([[0.0, 0.0], [4.0, 4.0], [0.0, 5.0]])
label = t % 3
points = centres[label] + 0.6 * np.stack([np.sin(t * 12.9898), np.cos(t * 78.233)], axis=-1)

k = 3
means = points[[0, 1, 2]].copy()
for step in range(20):
    distance = np.linalg.norm(points[:, None, :] - means[None, :, :], axis=2)
    nearest = distance.argmin(axis=1)
    new = np.array([points[nearest == j].mean(axis=0) for j in range(k)])
    if np.allclose(new, means):
        break
    means = new
print("steps", step)
print(np.round(means, 3))
print(np.bincount(nearest))
print("inertia %.3f" % np.sum(np.min(distance, axis=1) ** 2))
confusion = np.zeros((k, k), dtype=int)
np.add.at(confusion, (label, nearest), 1)
print(confusion)
pairwise = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
same = nearest[:, None] == nearest[None, :]
np.fill_diagonal(same, False)
inner = np.where(same, pairwise, 0).sum(1) / same.sum(1)
outer = np.min([np.where(nearest[None, :] == j, pairwise, 0).sum(1) / (nearest == j).sum() + np.where(nearest == j, np.inf, 0) for j in range(k)], axis=0)
score = (outer - inner) / np.maximum(outer, inner)
print("silhouette %.3f" % score.mean())
for j, m in enumerate(means):
    print(j, m.tolist() == list(m), "%.2f %.2f" % tuple(m))
