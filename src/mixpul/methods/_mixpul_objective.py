"""What MixPUL trains a network for: one at a time, or several side by side."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from mixpul.losses import consistency, mix, pairwise_margin
from mixpul.methods.neural import Member, Objective
from mixpul.methods.neural.objective import CLEAN_BATCHES, JointObjective
from mixpul.nets import SideBySide, Teacher
from mixpul.training import Batch

__all__ = ["MixPULObjective", "SideBySideJoint"]

# Share of the epochs over which the weight of L_U rises once it has set in; the paper shows a
# start of interpolation and leaves its shape open.
RAMP = 0.1


class MixPULObjective(Objective):
    """L_PN, L_U and L_PU, with a teacher that names targets and predicts."""

    method: Any
    # Rows are along the first axis of a batch.
    axis = 0

    def __init__(self, method: Any, member: Member) -> None:
        super().__init__(method, member)
        self.net = member.net
        self.teacher = Teacher(member.net, method.ema_decay)

    @property
    def predictor(self) -> nn.Module:
        """The teacher's network."""
        return self.teacher.net

    def terms(self, batch: Batch, progress: float) -> dict[str, Tensor]:
        """Return the three weighted terms of a batch."""
        x_p, x_n, x_u = batch
        axis = self.axis
        n_positive = x_p.shape[axis]
        x = torch.cat([x_p, x_n], axis)
        y = torch.zeros(x.shape[: axis + 1], device=x.device)
        y[..., :n_positive] = 1
        x_pn, y_pn = self._mix(x, y)
        # Positives and unlabeled rows come again unmixed: L_PU ranks rows as they are.
        parts, weight = [x_pn, x_p, x_u], self.method.beta * self._ramp_up(progress)
        if weight:
            # The teacher's probabilities are mixed, as in the paper, not its logits.
            x_uu, y_uu = self._mix(x_u, torch.sigmoid(self.teacher(x_u)))
            parts.append(x_uu)
        # One forward pass: faster, and batch norm sees all parts together, so that its
        # statistics do not tell the network which part a row is from.
        logits = self.net(torch.cat(parts, axis)).split([part.shape[axis] for part in parts], -1)
        margin = pairwise_margin(logits[1], logits[2], self.method.margin)
        return {
            "L_PN": consistency(logits[0], y_pn),
            "L_U": weight * consistency(logits[3], y_uu) if weight else y.new_zeros(()),
            "L_PU": self.method.gamma * margin,
        }

    def after_step(self) -> None:
        """Move the teacher towards the network."""
        self.teacher.update()

    def resume(self, n_steps: int) -> None:
        """Set the teacher's counter."""
        self.teacher.n_steps = n_steps

    def clean_batches(self) -> Iterator[Tensor]:
        """Yield rows all alike, as those to predict: batches of training hold mixtures.

        Held-out rows set the threshold, so that the composition of batches need not.
        """
        member = self.member
        order = torch.randperm(len(member.seen), generator=member.generator)
        n_batches = max(1, len(order) // member.batches.batch_size)
        some = order.tensor_split(n_batches)[:CLEAN_BATCHES]
        return (member.batches.rows(member.seen[part]) for part in some)

    def _mix(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Mix rows and targets with those of a permutation."""
        weight, partner = self._draw_mixture(x.shape[self.axis])
        weight, partner = weight.to(y), partner.to(x.device)
        # A weight of a row is one for all of its entries.
        of_rows = weight.reshape(*weight.shape, *[1] * (x.ndim - weight.ndim))
        other_x = x.flatten(0, self.axis).index_select(0, partner.flatten()).view_as(x)
        other_y = y.flatten()[partner.flatten()].view_as(y)
        return mix(x, other_x, of_rows), mix(y, other_y, weight)

    def _draw_mixture(self, n: int) -> tuple[Tensor, Tensor]:
        """Draw mixing weights of n rows, or one for all of them, and a permutation."""
        alpha, member = self.method.alpha, self.member
        size = n if self.method.mixing == "row" else None
        # Weights are drawn in numpy: torch's Beta distribution takes no generator.
        weight = torch.as_tensor(member.rng.beta(alpha, alpha, size))
        return weight, torch.randperm(n, generator=member.generator)

    def _ramp_up(self, progress: float) -> float:
        """Return the weight of L_U: none in the warm-up, then a smooth rise to 1."""
        if progress < self.method.warmup:
            return 0.0
        risen = min(1.0, (progress - self.method.warmup) / RAMP)
        # The shape of the ramp in interpolation consistency training (ICT).
        return float(np.exp(-5 * (1 - risen) ** 2))


class SideBySideObjective(MixPULObjective):
    """The same for several members at once; a batch has one more axis, that of the members.

    Their networks and teachers live on as views of the joint ones. Every member draws from its own
    streams, so it is trained as it would be alone.
    """

    axis = 1

    def __init__(self, objectives: Sequence[MixPULObjective]) -> None:
        self.method, self.objectives = objectives[0].method, objectives
        nets = [objective.member.net for objective in objectives]
        self.net = SideBySide(nets)
        self.net.lend_weights(nets)
        self.teacher = Teacher(self.net, self.method.ema_decay)
        cast(SideBySide, self.teacher.net).lend_weights([o.teacher.net for o in objectives])

    def _draw_mixture(self, n: int) -> tuple[Tensor, Tensor]:
        weights, partners = zip(*(o._draw_mixture(n) for o in self.objectives), strict=True)
        first_rows = n * torch.arange(len(self.objectives))[:, None]
        stacked = torch.stack(weights)
        # One weight for all rows of a member still needs the axis of rows.
        return stacked if stacked.ndim == 2 else stacked[:, None], torch.stack(
            partners
        ) + first_rows


class SideBySideJoint(JointObjective):
    """All members trained by one batched product per layer, networks of one kind together."""

    def __init__(self, objectives: Sequence[MixPULObjective], precision: Callable[[], Any]) -> None:
        super().__init__(objectives, precision)
        kinds: dict[Any, list[int]] = {}
        for k, objective in enumerate(objectives):
            net = objective.member.net
            shapes = tuple(parameter.shape for parameter in net.parameters())
            kinds.setdefault((type(net), shapes), []).append(k)
        self.groups = [
            (of_kind, SideBySideObjective([objectives[k] for k in of_kind]))
            for of_kind in kinds.values()
        ]

    @property
    def networks(self) -> nn.Module:
        """The joint networks."""
        return nn.ModuleList([together.net for _, together in self.groups])

    def list_running(self) -> list[nn.Module]:
        """Return the joint networks, their teachers, and those that predict."""
        return [*super().list_running(), *(together.teacher.net for _, together in self.groups)]

    def list_decays(self) -> list[float | Tensor]:
        """Return the weight decays of each parameter, by member."""
        decays: list[float | Tensor] = []
        for of_kind, together in self.groups:
            own = torch.tensor([self.objectives[k].member.decay for k in of_kind])
            decays += [own.view(-1, *[1] * (p.ndim - 1)) for p in together.net.parameters()]
        return decays

    def terms(self, batches: tuple[Batch, ...], progress: float) -> dict[str, Tensor]:
        """Return each term summed over the members."""
        # Folds may differ by a row, and so may their last batches.
        n = min(len(batch.unlabeled) for batch in batches)
        total: dict[str, Tensor] = {}
        for of_kind, together in self.groups:
            kinds = zip(*(batches[k] for k in of_kind), strict=True)
            joint = Batch(*(torch.stack([part[:n] for part in kind]) for kind in kinds))
            with self.precision():
                terms = together.terms(joint, progress)
            # Means over members become sums: each gets the gradient it would have on its own.
            for name, term in terms.items():
                total[name] = total.get(name, 0.0) + len(of_kind) * term
        return total

    def after_step(self) -> None:
        """Move all teachers."""
        for _, together in self.groups:
            together.after_step()

    def resume(self, n_steps: int) -> None:
        """Set the teachers' counter."""
        for _, together in self.groups:
            together.resume(n_steps)
