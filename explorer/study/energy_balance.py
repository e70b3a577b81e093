"""The energy balance of a run, which some schemes check too, as a study."""

from explorer.study import study
from explorer.verification.energy_balance import EnergyBalance, energy_balance

__all__ = ["EnergyBalance", "energy_balance"]

study(EnergyBalance)
study(energy_balance)
