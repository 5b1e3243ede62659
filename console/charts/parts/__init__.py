"""What the charts share."""
