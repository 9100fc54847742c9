"""The weighted least-squares problems: what is solved once the weights are known."""
