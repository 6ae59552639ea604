"""What all methods that train a network share."""
