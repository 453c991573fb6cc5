
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
!
OnesLikeOnesLikex0*
T0
'
IdentityIdentityOnesLike*
T0"ª