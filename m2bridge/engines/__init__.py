"""Engines: what runs a job. One interface, so that the choice changes times only, never a result."""

from m2bridge.engines.pool import EnginePool
from m2bridge.engines.protocol import Engine
from m2bridge.engines.script import ScriptEngine
from m2bridge.engines.warm import WarmEngine

__all__ = ["Engine", "EnginePool", "ScriptEngine", "WarmEngine"]
