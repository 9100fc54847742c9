"""Where rows come from: blocks, samples, sums over them."""
