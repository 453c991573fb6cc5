
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
)
SizeSizex0*
T0*
out_type0
#
IdentityIdentitySize*
T0"ª