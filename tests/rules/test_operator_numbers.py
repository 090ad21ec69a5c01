"""Constants of one type share the outcome of an operator on fake tensors: the results keep their own values and types."""

import pytest
import torch

import framejit

NUMBERS = (1.5, 2.5, 0.0, -0.0, 1e300, float("nan"), 1, 2, 127, 128, -1, 2**40, True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64])
def test_numbers_of_one_type(dtype):
    def program(x):
        return [result for number in NUMBERS for result in (x + number, x * number, x / number, x == number)]

    x = torch.tensor([0, 1, 1]).to(dtype)
    want, got = program(x), framejit.compile(program, backend="eager")(x)
    for left, right in zip(got, want, strict=True):
        torch.testing.assert_close(left, right, rtol=0, atol=0, equal_nan=True)
