"""Linear complementarity problems, plain and in a box, and the Delassus matrix that makes them."""
