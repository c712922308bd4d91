"""The page in the browser: server, scene, shapes, colours; what posing and playback share."""
