"""What every other part may import; imports nothing of ours."""
