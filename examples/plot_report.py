"""
From a CSV file to a report
===========================

``kmpe fit data.csv --target price`` reads a table, determines the types of its columns, fits a
robust model and writes a report, a model file and a table with a diagnosis of every row. This
example does the same in Python, on the Boston housing data.
"""

# %%
import tempfile
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from kmpe import RobustLinearRegression, table
from kmpe.datasets import load
from kmpe.plots import CoefficientDisplay, ResidualQQDisplay
from kmpe.table.verdict import verdict

housing = load("housing", download=False)
frame = pd.DataFrame(housing.X, columns=housing.feature_names).assign(price=housing.y)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "housing.csv"
frame.to_csv(path, index=False)

# %%
# One call fits the models; the verdict is the first paragraph of the report.
fitted = table.fit(path, "price", model="linear")
print(textwrap.fill(verdict(fitted), 80))

# %%
# ``table.write_fit`` writes the page, the model and the rows.
out = Path(folder.name) / "out"
out.mkdir()
table.write_fit(fitted, out)
rows = pd.read_csv(out / "rows.csv")
print(sorted(file.name for file in out.iterdir()))
for _, row in rows.sort_values("outlier_score").tail(3).iterrows():
    print(f"row {row['row']}: score {row['outlier_score']:.1f}, {row['reason']}")
folder.cleanup()

# %%
# Two of the plots of the report: the coefficients beside those of least squares, and the quantiles
# of the residuals against those of Gaussian noise.
fig, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
X, y = frame.drop(columns="price"), frame["price"]
X = (X - X.median()) / X.std()
model = RobustLinearRegression().fit(X, y)
CoefficientDisplay.from_estimator(model, X, y, ax=axes[0])
ResidualQQDisplay.from_estimator(model, X, y, ax=axes[1])
plt.show()
