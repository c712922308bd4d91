"""Tables in text: TRC, TSV of Qualisys, MOT and STO of OpenSim, CSV.

The readers are written by hand: no library reads all of them, and those for one leave a table of
unchecked cells. Here a cell that is no number is refused with its line and column, and counts,
rates and names that contradict the rows are noted.
"""

from exactik.io.tables._columns import (
    ColumnQuality,
    compute_column,
    estimate_rate,
    list_coordinate_columns,
    split_storage,
)
from exactik.io.tables._csv import read_tsv, write_csv, write_csv_markers, write_csv_motion
from exactik.io.tables._mot import (
    load_coordinate_table,
    outline_mot,
    quality_path,
    read_mot_motion,
    write_mot,
    write_storage,
)
from exactik.io.tables._trc import load_timed_markers, read_trc, write_trc
