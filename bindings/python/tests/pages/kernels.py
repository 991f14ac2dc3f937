# SPDX-License-Identifier: MIT
import numpy as np

# Networks and kernels from scratch.
def relu(x):
    return np.maximum(0, x)

def sigmoid(x):
    return 1 / (1 + np.exp(-x))

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
target = np.array([[0], [1], [1], [0]], dtype=float)
W1 = np.sin(np.arange(16).reshape(2, 8) * 1.7) * 1.5
b1 = np.zeros((1, 8))
W2 = np.cos(np.arange(8).reshape(8, 1) * 2.3)
b2 = np.zeros((1, 1))
losses = []
for epoch in range(1500):
    hidden = np.tanh(X @ W1 + b1)
    out = sigmoid(hidden @ W2 + b2)
    loss = np.mean((out - target) ** 2)
    losses.append(loss)
    d_out = 2 * (out - target) / len(X) * out * (1 - out)
    dW2 = hidden.T @ d_out
    d_hidden = d_out @ W2.T * (1 - hidden ** 2)
    W2 -= 2.0 * dW2
    b2 -= 2.0 * d_out.sum(axis=0, keepdims=True)
    W1 -= 2.0 * (X.T @ d_hidden)
    b1 -= 2.0 * d_hidden.sum(axis=0, keepdims=True)
print(losses[-1] < 0.02, (out > 0.5).astype(int).ravel(), len(losses), losses[0] > losses[-1])
def kernel(a, b, length=1.0):
    return np.exp(-0.5 * ((a[:, None] - b[None, :]) / length) ** 2)
x_train = np.array([-2.0, -1, 0, 1.5])
y_train = np.sin(x_train)
K = kernel(x_train, x_train) + 1e-3 * np.eye(4)
L = np.linalg.cholesky(K)
alpha = np.linalg.solve(L.T, np.linalg.solve(L, y_train))
x_new = np.linspace(-2, 2, 5)
mean = kernel(x_new, x_train) @ alpha
print(mean.round(2), np.diag(K).round(3), K.shape)
def dft(signal):
    n = np.arange(len(signal))
    k = n.reshape((-1, 1))
    return np.cos(-2 * np.pi * k * n / len(signal)) @ signal
wave = np.cos(2 * np.pi * 3 * np.arange(16) / 16)
print(dft(wave).round(2), np.abs(dft(wave)).argmax())
def conv2d(image, k):
    h, w = image.shape
    kh, kw = k.shape
    out = np.zeros((h - kh + 1, w - kw + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(image[i:i + kh, j:j + kw] * k)
    return out
image = np.arange(36, dtype=float).reshape(6, 6)
print(conv2d(image, np.ones((3, 3)) / 9), conv2d(image, np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]])).shape)
logits = np.array([[2.0, 1.0, 0.1], [0.5, 2.5, 0.3]])
labels = np.array([0, 1])
shifted = logits - logits.max(axis=1, keepdims=True)
log_probs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
print(-log_probs[np.arange(2), labels].mean().round(4), np.exp(log_probs).round(3), log_probs.argmax(1) == labels)
gradient = np.exp(log_probs)
gradient[np.arange(len(labels)), labels] -= 1
gradient /= len(labels)
print(gradient.round(3), gradient.sum().round(5))
Q, Kk, V = (np.arange(12).reshape(4, 3) / s for s in (10.0, 7.0, 5.0))
scores = Q @ Kk.T / np.sqrt(3)
scores[np.triu_indices(4, 1)] = -np.inf
weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
weights /= weights.sum(axis=-1, keepdims=True)
print(weights.round(2), (weights @ V).round(2), np.isinf(scores).sum())
confusion = np.zeros((3, 3), dtype=int)
for truth, guess in zip([0, 1, 2, 2, 1, 0], [0, 2, 2, 2, 1, 1]):
    confusion[truth, guess] += 1
precision = np.diag(confusion) / confusion.sum(axis=0)
recall = confusion.diagonal() / confusion.sum(axis=1)
with np.errstate(divide="ignore", invalid="ignore"):
    f1 = 2 * precision * recall / (precision + recall)
print(confusion, precision.round(2), recall, f1.round(2), confusion.trace() / confusion.sum())
vocabulary = {word: i for i, word in enumerate("a b c d".split())}
counts = np.zeros((2, len(vocabulary)))
for row, text in enumerate(["a b a c", "b d d d"]):
    for word in text.split():
        counts[row, vocabulary[word]] += 1
tf = counts / counts.sum(axis=1)[:, None]
idf = np.log(2 / (counts > 0).sum(axis=0)) + 1
tfidf = tf * idf
tfidf /= np.linalg.norm(tfidf, axis=1, keepdims=True)
print(tfidf.round(3), (tfidf[0] @ tfidf[1]).round(3), np.argsort(-tfidf, axis=1)[:, 0])
params = {"w": np.ones((2, 2)), "b": np.zeros(2)}
for name in params:
    params[name] = params[name] - 0.1 * np.ones_like(params[name])
print({name: value.tolist() for name, value in params.items()}, sum(p.size for p in params.values()), np.concatenate([p.ravel() for p in params.values()]).round(1))
