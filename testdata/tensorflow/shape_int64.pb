
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
9
ShapeShapex0*
T0*
out_type0	:íÐ
$
IdentityIdentityShape*
T0	"ª