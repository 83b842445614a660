"""Pictures: one description of what is to be seen, drawn as a chart or as text for a terminal."""

from regard.report.pictures.bars import BarPicture as BarPicture
from regard.report.pictures.curves import CurvePicture as CurvePicture
from regard.report.pictures.matrix import MatrixPicture as MatrixPicture
from regard.report.pictures.picture import Picture as Picture
