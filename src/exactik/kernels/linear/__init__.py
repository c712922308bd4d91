"""Branch-sparse factorisation, bounded steps, the trust-region subproblem."""
