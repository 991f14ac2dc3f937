# Cellular automata, sieves and sorting by hand: loops over single elements.
import numpy as np

board = np.zeros((8, 8), dtype=int)
board[1, 2] = board[2, 3] = board[3, 1] = board[3, 2] = board[3, 3] = 1
for _ in range(4):
    near = sum(np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    board = ((near == 3) | ((board == 1) & (near == 2))).astype(int)
print(board)

rule = np.array([(30 >> i) & 1 for i in range(8)])
row = np.zeros(11, int)
row[5] = 1
for _ in range(3):
    row = rule[4 * np.roll(row, 1) + 2 * row + np.roll(row, -1)]
    print("".join("o#"[cell] for cell in row))

is_prime = np.ones(51, dtype=bool)
is_prime[:2] = False
for i in range(2, 8):
    if is_prime[i]:
        is_prime[i * i::i] = False
print(np.flatnonzero(is_prime), is_prime.sum())

a = np.array([5, 2, 8, 1])
for i in range(len(a)):
    for j in range(len(a) - 1 - i):
        if a[j] > a[j + 1]:
            a[j], a[j + 1] = a[j + 1], a[j]
print(a, 8 in a, list(a), f"{a[0]:03d}", {a[0]: "one"}[1])

fibonacci = np.zeros(10, dtype=int)
fibonacci[1] = 1
for i in range(2, 10):
    fibonacci[i] = fibonacci[i - 1] + fibonacci[i - 2]
print(fibonacci, max(fibonacci), sum(fibonacci), int(fibonacci[-1]))
