"""Tables as text: TRC, Qualisys TSV, OpenSim MOT, CSV."""
