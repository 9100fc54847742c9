"""What the data decide for the user: the loss, the penalty."""
