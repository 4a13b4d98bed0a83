"""The page of a monitor, and the folder that it lies in."""
