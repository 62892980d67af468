"""
Which digits carry a wrong label
================================

Thirty of 1,797 handwritten digits get a wrong label. The audit ranks all labels by how suspicious
they are; here are the first eight pictures of its list.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from cospan import audit_labels

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
wrong = rng.choice(len(y), 30, replace=False)
labels = y.copy()
labels[wrong] = (labels[wrong] + rng.integers(1, 10, 30)) % 10
audit = audit_labels(X, labels)
ranking = audit.to_frame("pandas")
print(audit)
print(np.isin(ranking.row[:30], wrong).sum(), "of the 30 wrong labels are among the first 30")

# %%

fig, axes = plt.subplots(1, 8, figsize=(9, 1.8))
for ax, row in zip(axes, ranking.itertuples(), strict=False):
    ax.imshow(X[row.row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{row.label}, not {row.suggested}?", fontsize=8)
    ax.axis("off")
plt.show()

# %%
# Flagged are the labels that stand out; every second one should be wrong:

flagged = np.flatnonzero(audit.flagged)
print(len(flagged), "flagged,", np.isin(flagged, wrong).sum(), "of them wrong")
