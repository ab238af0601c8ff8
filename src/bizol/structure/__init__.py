"""What may be known of a follower, for diagnosis: its pieces, the Clarke side, the models of the analysis."""
