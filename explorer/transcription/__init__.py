"""Transcription: an optimal control problem as a nonlinear program. Only this layer uses CasADi."""
