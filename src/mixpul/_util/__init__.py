"""What all packages share: seeds and folds, matrices, JSON values, files, checks of input."""
