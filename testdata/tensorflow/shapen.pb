
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
Q
x1Placeholder*
_user_specified_namex1*
dtype0*
shape
:
:
ShapeNShapeNx0x1*
N*
T0*
out_type0
%
IdentityIdentityShapeN*
T0
)

Identity_1IdentityShapeN:1*
T0"ª