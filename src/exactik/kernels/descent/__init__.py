"""The compiled descent: state, steps, acceptance, several starts."""
