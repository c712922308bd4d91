"""The page in the browser: server, scene, shapes."""
