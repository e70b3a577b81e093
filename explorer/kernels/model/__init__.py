"""A model's native functions as kernels call them, and what stands before them."""
