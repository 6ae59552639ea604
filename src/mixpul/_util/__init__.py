"""What all rooms of the house share: each idea once."""
