# made by: python .ci/stubs.py

from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeAlias, TypeVar, overload

from explorer.models.ball_on_plate import ball_on_plate as ball_on_plate
from explorer.models.bilinear_oscillator import bilinear_oscillator as bilinear_oscillator
from explorer.models.block_across_slope import block_across_slope as block_across_slope
from explorer.models.block_on_slope import block_on_slope as block_on_slope
from explorer.models.boost_converter import boost_converter as boost_converter
from explorer.models.border_collision import border_collision as border_collision
from explorer.models.border_collision_plane import border_collision_plane as border_collision_plane
from explorer.models.bouc_wen import bouc_wen as bouc_wen
from explorer.models.bouncing_ball import bouncing_ball as bouncing_ball
from explorer.models.bouncing_dimer import bouncing_dimer as bouncing_dimer
from explorer.models.brake_squeal import brake_squeal as brake_squeal
from explorer.models.buck_converter import buck_converter as buck_converter
from explorer.models.buck_converter import buck_modes as buck_modes
from explorer.models.cart_plastic import cart_plastic as cart_plastic
from explorer.models.chua import chua as chua
from explorer.models.clock_escapement import clock_escapement as clock_escapement
from explorer.models.column import column as column
from explorer.models.compass_gait import compass_gait as compass_gait
from explorer.models.coulomb_oscillator import coulomb_oscillator as coulomb_oscillator
from explorer.models.diode_bridge import diode_bridge as diode_bridge
from explorer.models.disc_pile import disc_pile as disc_pile
from explorer.models.dominoes import dominoes as dominoes
from explorer.models.double_pendulum_stop import double_pendulum_stop as double_pendulum_stop
from explorer.models.drill_string import drill_string as drill_string
from explorer.models.duffing import duffing as duffing
from explorer.models.elastic_bar import elastic_bar as elastic_bar
from explorer.models.elastic_pendulum import elastic_pendulum as elastic_pendulum
from explorer.models.ellipse_billiard import ellipse_billiard as ellipse_billiard
from explorer.models.falling_rod import falling_rod as falling_rod
from explorer.models.five_bar import five_bar_a as five_bar_a
from explorer.models.five_bar import five_bar_b as five_bar_b
from explorer.models.four_bar_stop import four_bar_stop as four_bar_stop
from explorer.models.fuller import fuller as fuller
from explorer.models.gap_stop import gap_stop as gap_stop
from explorer.models.gear_rattle import gear_rattle as gear_rattle
from explorer.models.glass_network import glass_network as glass_network
from explorer.models.granular_chain import granular_chain as granular_chain
from explorer.models.hopper import hopper as hopper
from explorer.models.impact_oscillator import impact_oscillator as impact_oscillator
from explorer.models.integrate_and_fire import integrate_and_fire as integrate_and_fire
from explorer.models.irma import irma as irma
from explorer.models.juggling import juggling as juggling
from explorer.models.kneed_walker import kneed_walker as kneed_walker
from explorer.models.newtons_cradle import newtons_cradle as newtons_cradle
from explorer.models.parallelogram import parallelogram as parallelogram
from explorer.models.pendulum import pendulum as pendulum
from explorer.models.pendulum_moving_pivot import pendulum_moving_pivot as pendulum_moving_pivot
from explorer.models.pendulum_on_peg import pendulum_on_peg as pendulum_on_peg
from explorer.models.pendulum_wall import pendulum_wall as pendulum_wall
from explorer.models.play_and_stop import play_and_stop as play_and_stop
from explorer.models.portal_frame import portal_frame as portal_frame
from explorer.models.preloaded_stop import preloaded_stop as preloaded_stop
from explorer.models.pushed_block import pushed_block as pushed_block
from explorer.models.relay_feedback import relay_feedback as relay_feedback
from explorer.models.rimless_wheel import rimless_wheel as rimless_wheel
from explorer.models.rlcd_circuit import rlcd_circuit as rlcd_circuit
from explorer.models.rocking_block import rocking_block as rocking_block
from explorer.models.rough_block import rough_block as rough_block
from explorer.models.searching import Found
from explorer.models.shear_building import shear_building as shear_building
from explorer.models.sigma_delta import sigma_delta as sigma_delta
from explorer.models.sign_crossing import sign_crossing as sign_crossing
from explorer.models.simplest_walker import simplest_walker as simplest_walker
from explorer.models.sinai_billiard import sinai_billiard as sinai_billiard
from explorer.models.slider_crank import slider_crank as slider_crank
from explorer.models.slider_crank_rigid import slider_crank_rigid as slider_crank_rigid
from explorer.models.sliding_entry import sliding_entry as sliding_entry
from explorer.models.sliding_mode import sliding_mode as sliding_mode
from explorer.models.slip import slip as slip
from explorer.models.spherical_pendulum import spherical_pendulum as spherical_pendulum
from explorer.models.spinning_top import spinning_top as spinning_top
from explorer.models.square_root_map import square_root_map as square_root_map
from explorer.models.stack import stack as stack
from explorer.models.stadium_billiard import stadium_billiard as stadium_billiard
from explorer.models.stick_slip import stick_slip as stick_slip
from explorer.models.stribeck_belt import stribeck_belt as stribeck_belt
from explorer.models.sweeping_process import sweeping_process as sweeping_process
from explorer.models.switched_linear import switched_linear as switched_linear
from explorer.models.switched_oscillator import switched_oscillator as switched_oscillator
from explorer.models.tent_map import tent_map as tent_map
from explorer.models.tether import tether as tether
from explorer.models.thermostat import thermostat as thermostat
from explorer.models.three_blocks import three_blocks as three_blocks
from explorer.models.threshold_policy import threshold_policy as threshold_policy
from explorer.models.thrown_ball import thrown_ball as thrown_ball
from explorer.models.turbo_car import turbo_car as turbo_car
from explorer.models.two_blocks import two_blocks as two_blocks
from explorer.models.two_blocks_on_belt import two_blocks_on_belt as two_blocks_on_belt
from explorer.models.two_fold import two_fold as two_fold
from explorer.models.two_genes import two_genes as two_genes
from explorer.models.two_relays import two_relays as two_relays
from explorer.models.two_tanks import two_tanks as two_tanks
from explorer.models.vibrating_table import vibrating_table as vibrating_table
from explorer.models.woodpecker import woodpecker as woodpecker
from explorer.registry import Registry
from explorer.results.solution import Solution
from explorer.systems import System

GROUPS = (
    "impacts",
    "friction",
    "linkages",
    "walking",
    "structures",
    "many bodies",
    "switches",
    "circuits",
    "genes",
    "maps",
)
P = ParamSpec("P")
S = TypeVar("S", bound=System)
Measure: TypeAlias = Callable[[Callable[..., Solution]], float]
models: Registry[Callable[..., System]] = ...

@overload
def register(
    model: str | None = None,
    /,
    *,
    group: str = "",
    references: tuple[str, ...] | str = (),
    measures: Mapping[str, Measure] | None = None,
) -> Callable[[Callable[P, S]], Callable[P, S]]: ...
@overload
def register(
    model: Callable[P, S],
    /,
    *,
    group: str = "",
    references: tuple[str, ...] | str = (),
    measures: Mapping[str, Measure] | None = None,
) -> Callable[P, S]: ...
def search(words: str) -> Found: ...
def __getattr__(name: str) -> Callable[..., System]: ...
