"""Playback of motions beside measured markers."""
