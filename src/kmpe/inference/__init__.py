"""What a fit says of itself: covariance, outliers, intervals."""
