"""Evaluate a model's bundle at many input vectors."""

from explorer.kernels.jit import call, kernel
from explorer.kernels.structures import Matrix

__all__ = ["evaluate_at"]


@kernel()
def evaluate_at(address: int, data: int, inputs: Matrix, outputs: Matrix) -> None:
    """``outputs[k] = f(inputs[k])``; a row of outputs has room for all of them."""
    for k in range(inputs.shape[0]):
        call(address, data, outputs[k], inputs[k])
