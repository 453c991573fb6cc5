
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

SquareSquarex0*
T0
%
IdentityIdentitySquare*
T0"ª