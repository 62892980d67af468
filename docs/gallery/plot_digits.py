"""
What separates a 4 from a 9
===========================

Where rows are pictures, the directions of the joint frame are pictures as well: what fours vary
in, what both share, what nines vary in.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from cospan import compare, plots, prototypes

X, y = load_digits(return_X_y=True)
found = compare(X[y == 4], X[y == 9], X[y == 7], name_a="4", name_b="9", image_shape=(8, 8))
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
plots.plot_angles(found, ax=ax)
plt.show()

# %%
# Samples: the most typical four, those between both, the most typical nine.

fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
plots.plot_samples(found, ax=ax)
plt.show()

# %%
# Directions of the frame.

fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
plots.plot_directions(found, ax=ax)
plt.show()

# %%
# The most four-like and the most nine-like picture there could be:

fig, axes = plt.subplots(1, 2, figsize=(3.2, 1.8))
for ax, side in zip(axes, "AB", strict=True):
    ax.imshow(prototypes(found.frame, side, 1).points[0].reshape(8, 8), cmap="gray_r")
    ax.set_title("4" if side == "A" else "9")
    ax.axis("off")
plt.show()
