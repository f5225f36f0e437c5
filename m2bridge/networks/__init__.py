"""Network models: what an architecture's parametrization, symmetries and closed formulas are."""

from m2bridge.networks.deep_lightning import DeepLightning
from m2bridge.networks.lightning import LightningAttention, Orbit

__all__ = ["DeepLightning", "LightningAttention", "Orbit"]
