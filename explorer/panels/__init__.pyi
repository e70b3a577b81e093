# made by: python .ci/stubs.py

from explorer.panels.basins import explore_basins as explore_basins
from explorer.panels.control import explore_control as explore_control
from explorer.panels.explore import explore as explore
from explorer.panels.gallery import gallery as gallery
from explorer.panels.orbits import explore_orbits as explore_orbits
from explorer.panels.order import explore_order as explore_order
from explorer.panels.schemes import explore_schemes as explore_schemes
from explorer.panels.sensitivity import explore_sensitivity as explore_sensitivity
from explorer.panels.session import Session as Session
from explorer.panels.session_panel import panels as panels
from explorer.panels.stability import explore_stability as explore_stability
from explorer.panels.two_starts import explore_two_starts as explore_two_starts
from explorer.panels.write_model import write_model as write_model
