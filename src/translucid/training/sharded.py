"""Every process has a part of all weights: PyTorch's fully_shard (FSDP2)."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor

from translucid.model import Transformer
from translucid.model.decoder import DecoderLayer
from translucid.model.encoder import EncoderLayer
from translucid.training.loss import Objective
from translucid.training.processes import Processes, together


class Sharded(Processes):
    """Every process has a part of each weight, its gradient and what the optimiser knows of it.

    A layer's weights are put together when they are needed, in the forward and in the backward
    pass, and forgotten again. Gradients are summed after every micro-batch, so that none of them is
    ever whole for longer than its layer's turn.
    """

    def wrap(self, objective: Objective) -> nn.Module:
        """Return the objective, its weights shared out by FSDP2, layer by layer."""
        # Attention returns views of its projections, and nothing of ours writes into them.
        warnings.filterwarnings("ignore", message=r"FSDP2-wrapped module .* returned a view tensor")
        with together():
            mesh = init_device_mesh(self.device.type, (self.world,))
            for layer in list(objective.modules()):
                if isinstance(layer, DecoderLayer):
                    # The source is read before the layers run: cross-attention is its own part.
                    fully_shard(layer.cross_attention, mesh=mesh)
                    for method in ("keys_values", "attend"):
                        register_fsdp_forward_method(layer.cross_attention, method)
                if isinstance(layer, DecoderLayer | EncoderLayer):
                    fully_shard(layer, mesh=mesh)
            fully_shard(objective, mesh=mesh)
        for part in objective.modules():
            if isinstance(part, FSDPModule):
                part.set_gradient_divide_factor(1.0)
                part.set_force_sum_reduction_for_comms(True)
        return objective

    @contextlib.contextmanager
    def accumulating(self, module: nn.Module, last: bool) -> Iterator[None]:
        """Sum the gradients of every micro-batch: that is what saves memory."""
        del module, last
        with together():
            yield

    def rounds(self, count: int) -> int:
        """Return the greatest number of any process: each forward pass needs all of them."""
        counts = torch.zeros(self.world, dtype=torch.int64)
        counts[self.rank] = count
        return int(self.sum(counts).max())

    @contextlib.contextmanager
    def whole(self, model: Transformer) -> Iterator[Transformer]:
        """Give the main process a copy with all weights; the others wait for nothing."""
        tensors = self.full_state(dict(model.named_parameters()))
        if not self.is_main:
            yield model
            return
        copy = Transformer(model.config)
        with torch.no_grad():
            for name, parameter in copy.named_parameters():
                parameter.copy_(tensors[name])
        yield copy.to(self.device)

    @torch.no_grad()
    def full_state(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Put tensors together, one after another, in the main process's CPU memory."""
        found = {}
        for name, tensor in tensors.items():
            with together():
                full = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
            if self.is_main:
                found[name] = full.detach().cpu()
        return found

    @torch.no_grad()
    def put(self, target: Tensor, value: Tensor | None) -> None:
        """Give each process its part of the main process's value."""
        full = torch.empty(target.shape, dtype=target.dtype, device=self.device)
        if value is not None:
            full.copy_(value)
        with together():
            if isinstance(target, DTensor):
                target.copy_(distribute_tensor(full, target.device_mesh, target.placements))
            else:
                dist.broadcast(full, src=0)
                target.copy_(full)
