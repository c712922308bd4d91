"""Derivatives checked against an oracle, landscapes of costs, synthetic recordings."""
