"""One module a tool: how it is asked to do the tasks, in an environment of its own."""
