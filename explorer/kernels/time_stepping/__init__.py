"""Fixed steps: Moreau-Jean, Euler-Moreau, the Newmark family, nonsmooth generalised-alpha."""
