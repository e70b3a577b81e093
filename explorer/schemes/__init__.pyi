# made by: python .ci/stubs.py

from explorer.registry import Registry
from explorer.schemes.bases.scheme import Scheme as Scheme
from explorer.schemes.central_difference import CentralDifference as CentralDifference
from explorer.schemes.euler_moreau import EulerMoreau as EulerMoreau
from explorer.schemes.event_driven import EventDriven as EventDriven
from explorer.schemes.fesd import FESD as FESD
from explorer.schemes.iteration import Iteration as Iteration
from explorer.schemes.moreau_jean import MoreauJean as MoreauJean
from explorer.schemes.newmark import GeneralizedAlpha as GeneralizedAlpha
from explorer.schemes.newmark import Newmark as Newmark
from explorer.schemes.nonsmooth_alpha import ContactInNewmark as ContactInNewmark
from explorer.schemes.nonsmooth_alpha import NonsmoothGeneralizedAlpha as NonsmoothGeneralizedAlpha
from explorer.schemes.schatzman_paoli import SchatzmanPaoli as SchatzmanPaoli
from explorer.schemes.theta_rk import ThetaRK as ThetaRK

schemes: Registry[type[Scheme]] = ...
