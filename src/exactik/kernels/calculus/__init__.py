"""The chain rule of the tree: subtree sums and the sweeps over them."""
