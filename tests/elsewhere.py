"""A device that is not here, pretended: its tensors say that they lie elsewhere, and refuse to meet
one that was made on the CPU.

Their values do lie on the CPU, so what depends on values (packed sequences, lengths, words that are
left out) is computed as on a GPU. PyTorch's own ways do not serve: a tensor on "meta" has no
values, and a network of fake ones on "cuda" needs a build of PyTorch with CUDA.
"""

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only

DEVICE = torch.device("meta")  # what the tensors say: it is neither "cpu" nor present
CPU = torch.device("cpu")
# PyTorch wants the lengths of packed sequences on the CPU, whatever the rest is on
TAKES_LENGTHS = ("_pack_padded_sequence", "_pack_padded_sequence_backward")


class Elsewhere(Tensor):
    """A tensor on that device; ``value`` lies on the CPU."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    is_cuda = True  # so that what asks for it goes the way of a GPU

    @staticmethod
    def __new__(cls, value):
        return Tensor._make_wrapper_subclass(
            cls,
            value.shape,
            value.stride(),
            value.storage_offset(),
            dtype=value.dtype,
            device=DEVICE,
        )

    def __init__(self, value):
        self.value = value

    def tolist(self):
        return self.value.tolist()

    def numpy(self):
        raise TypeError("can't convert a tensor of another device to numpy: use .cpu() first")

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), options=None):
        return calculated(function, arguments, options or {})


class AnotherDevice(TorchDispatchMode):
    """In the block, what is made on that device is an ``Elsewhere``."""

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        return calculated(function, arguments, options or {})


def calculated(function, arguments, options):
    """The result of one operation; ``RuntimeError`` for one on tensors of both devices."""
    tensors = [leaf for leaf in tree_leaves((arguments, options)) if isinstance(leaf, Tensor)]
    there = [tensor for tensor in tensors if isinstance(tensor, Elsewhere)]
    name = function.overloadpacket.__name__
    target = options.get("device") or (DEVICE if there else CPU)
    # a number without axes may come from the CPU, as everywhere in PyTorch
    here = [each for each in tensors if not isinstance(each, Elsewhere) and each.dim()]
    if there and here and name not in TAKES_LENGTHS:
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in here)
        raise RuntimeError(f"{name}: a tensor of shape {shapes} was made on the CPU")
    plain = tree_map_only(Elsewhere, lambda tensor: tensor.value, (arguments, options))
    on_cpu = {key: CPU if key == "device" else value for key, value in plain[1].items()}
    result = function(*plain[0], **on_cpu)
    if target == CPU:
        return result
    if name == "_pack_padded_sequence":  # the sizes of the steps stay, too
        return Elsewhere(result[0]), result[1]
    wrapped = tree_map_only(Tensor, Elsewhere, result)
    return return_and_correct_aliasing(function, arguments, options, wrapped) if there else wrapped


def moved(model):
    """The same module with its parameters and buffers elsewhere, in place."""
    for module in model.modules():
        for name, value in list(module.named_parameters(recurse=False)):
            copy = Elsewhere(value.detach().clone())
            setattr(module, name, nn.Parameter(copy, value.requires_grad))
        for name, value in list(module.named_buffers(recurse=False)):
            setattr(module, name, Elsewhere(value))
    return model
