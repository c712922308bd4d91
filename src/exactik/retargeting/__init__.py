from exactik.retargeting._retarget import retarget
__all__=["retarget"]
