"""What all kernel methods share."""
