# made by: python .ci/stubs.py

from collections.abc import Callable
from typing import TypeVar

from explorer.registry import Registry
from explorer.study.attractors import Attractors as Attractors
from explorer.study.attractors import attractors as attractors
from explorer.study.basin_map import Basins as Basins
from explorer.study.basins import basins as basins
from explorer.study.branch import Branch as Branch
from explorer.study.branch import BranchPoint as BranchPoint
from explorer.study.continuation import continuation as continuation
from explorer.study.diagram_branches import DiagramBranches as DiagramBranches
from explorer.study.diagram_exponents import DiagramExponents as DiagramExponents
from explorer.study.end_state import EndCurve as EndCurve
from explorer.study.end_state import EndState as EndState
from explorer.study.end_state import end_state as end_state
from explorer.study.fesd_reference import FesdReference as FesdReference
from explorer.study.fesd_reference import fesd_reference as fesd_reference
from explorer.study.finer_basins import FinerBasins as FinerBasins
from explorer.study.flow_spectrum import FlowExponents as FlowExponents
from explorer.study.formulations import Formulations as Formulations
from explorer.study.formulations import formulations as formulations
from explorer.study.grazing import Grazing as Grazing
from explorer.study.grazing import grazing as grazing
from explorer.study.limit_cycle import LimitCycle as LimitCycle
from explorer.study.limit_cycle import limit_cycle as limit_cycle
from explorer.study.lyapunov import lyapunov as lyapunov
from explorer.study.map_spectrum import MapExponents as MapExponents
from explorer.study.modes import Modes as Modes
from explorer.study.modes import modes as modes
from explorer.study.orbit_derivatives import OrbitDerivatives as OrbitDerivatives
from explorer.study.orbit_derivatives import orbit_derivatives as orbit_derivatives
from explorer.study.orbit_diagram import OrbitDiagram as OrbitDiagram
from explorer.study.orbit_diagram import orbit_diagram as orbit_diagram
from explorer.study.orbits import Orbits as Orbits
from explorer.study.order_diagram import order_diagram as order_diagram
from explorer.study.oscillator import Oscillation as Oscillation
from explorer.study.oscillator import oscillation as oscillation
from explorer.study.oscillator import oscillator as oscillator
from explorer.study.power_law import PowerLaw as PowerLaw
from explorer.study.power_law import power_law as power_law
from explorer.study.recurrence import Recurrence as Recurrence
from explorer.study.return_map import Return as Return
from explorer.study.return_map import ReturnMap as ReturnMap
from explorer.study.scheme_comparison import ComparedRun as ComparedRun
from explorer.study.scheme_comparison import SchemeComparison as SchemeComparison
from explorer.study.scheme_comparison import compare_schemes as compare_schemes
from explorer.study.search_attractors import Attractor as Attractor
from explorer.study.section import Section as Section
from explorer.study.sharpening import Sharpening as Sharpening
from explorer.study.stability import Stability as Stability
from explorer.study.stability import stability as stability
from explorer.study.stability import stability_table as stability_table
from explorer.study.sweep import sweep as sweep
from explorer.study.swept import Failure as Failure
from explorer.study.swept import Sweep as Sweep
from explorer.study.two_parameters import BifurcationCurve as BifurcationCurve
from explorer.study.two_parameters import bifurcation_curve as bifurcation_curve
from explorer.study.two_starts import TwoStarts as TwoStarts
from explorer.study.two_starts import two_starts as two_starts
from explorer.study.work_precision import WorkCurve as WorkCurve
from explorer.study.work_precision import WorkPrecision as WorkPrecision
from explorer.study.work_precision import work_precision as work_precision
from explorer.verification.energy_balance import EnergyBalance as EnergyBalance
from explorer.verification.energy_balance import energy_balance as energy_balance

T = TypeVar("T", bound=Callable[..., object])
studies: Registry[Callable[..., object]] = ...

def study(entry: T) -> T: ...
