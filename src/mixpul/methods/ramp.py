"""PU learning with the ramp loss (du Plessis, Niu, Sugiyama, 2014)."""

from mixpul.methods._kernel.solvers import Array, ramp_cccp
from mixpul.methods._risk import RiskClassifier

__all__ = ["RampClassifier"]


class RampClassifier(RiskClassifier):
    """Unbiased PU learning with the ramp loss; needs the class prior.

    The method of the paper is a sum of Gaussians found by the concave-convex procedure, with width
    and penalty of the least PU 0-1 risk in cross-validation. ``model='mlp'`` trains a network on
    the same risk instead: that is our adaptation, and should be reported as such.

    Parameters
    ----------
    prior : float, {'bbe', 'dedpul', 'tice', 'km', 'pen-l1', 'elkan-noto'} or PriorEstimator, \
default='bbe'
        Share of positives among the unlabeled rows, or how to estimate it.
    model : {'kernel', 'mlp'}, default='kernel'
        'mlp' trains the network that `net` names.
    n_centres : int, default=200
        Number of Gaussians of the kernel model.
    net : {'skip-mlp', 'mlp', 'linear', 'small-conv', 'allconv13'}, sequence of int, or callable, \
default='skip-mlp'
    n_epochs : int, default=30
    learning_rate : float, default=0.001
    optimizer : {'sgd', 'adam'}, default='adam'
    momentum : float, default=0.9
    weight_decay : float, 'auto' or sequence of float, default='auto'
    batch_size : int, default=128
    max_steps : int or None, default=250
    min_steps : int or None, default=None
    augment : str, sequence of str, callable or None, default=None
    cross_fitting : int or None, default=5
    early_stopping : bool, default=True
    validation_fraction : float, default=0.2
    patience : int or None, default=10
    pos_label : label or None, default=None
    random_state : int, RandomState, Generator or None, default=None
    device : str or torch.device, default='auto'
    precision : {'bfloat16', 'auto'} or None, default=None
    checkpoint : str, path-like or None, default=None
    verbose : int, default=0
        The parameters from `net` on are those of `MixPULClassifier`.

    Attributes
    ----------
    prior_ : float
        The share of positives among the unlabeled rows that was used.
    centres_, width_, coef_, intercept_, penalty_
        The kernel model.
    classes_, net_, n_epochs_, history_, oof_scores_, n_features_in_, feature_names_in_
        As in `MixPULClassifier`; those of the network with ``model='mlp'`` only.

    Examples
    --------
    >>> from mixpul import RampClassifier, datasets
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    >>> RampClassifier(prior=pu.prior, random_state=0).fit(pu.X, pu.s).predict(pu.X).shape
    (2201,)
    """

    def _solve(
        self,
        phi_p: Array,
        phi_u: Array,
        prior: float,
        penalty: float,
        phi_n: Array | None = None,
        eta: float = 0.0,
    ) -> Array:
        return ramp_cccp(phi_p, phi_u, prior, penalty, phi_n, eta)[0]

    def _name_loss(self) -> str:
        return "ramp"
